@Entity
public class Account {
    @Id
    private Long id;

    @Version
    private long version;

    private Timestamp changed;
}
