@Entity
@Table(name = "account")
public class Account {
    @Id
    private Long id;

    @Version
    private Timestamp changed;
}
