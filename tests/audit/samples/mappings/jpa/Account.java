@MappedSuperclass
abstract class Versioned {
    @Id
    @GeneratedValue
    private Long id;

    @Version
    @Column(name = "row_no")
    private int version;
}

@Entity
@Table(name = "m_savings_account")
public class SavingsAccount extends Versioned {
    @Column(name = "account_balance_derived")
    private BigDecimal balance;
}
