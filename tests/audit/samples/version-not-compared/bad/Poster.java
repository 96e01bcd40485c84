class Poster {
    private static final String POST = "UPDATE account SET balance = ? WHERE id = ?";

    void post(JdbcTemplate jdbc, long id, BigDecimal balance) {
        jdbc.update(POST, balance, id);
    }

    void build(JdbcTemplate jdbc, long id, BigDecimal balance) {
        StringBuilder sql = new StringBuilder("UPDATE account ");
        sql.append("SET balance = ? ").append("WHERE id = ?");
        jdbc.update(sql.toString(), balance, id);
    }

    @Query("update account a set a.balance = :balance where a.id = :id")
    abstract int direct(long id, BigDecimal balance);
}
