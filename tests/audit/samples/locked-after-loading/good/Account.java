@Entity
class Account {
    @Id
    long id;
    long balance;
    @Version
    int version;
}
