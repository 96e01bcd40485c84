class Poster {
    // "UPDATE account SET balance = ? WHERE id = ?" is only a comment here.
    void post(JdbcTemplate jdbc, long id, BigDecimal balance, int version) {
        int rows = jdbc.update("UPDATE account SET balance = ?, version = version + 1"
            + " WHERE id = ? AND version = ?", balance, id, version);
        if (rows != 1) {
            throw new ConflictException(id);
        }
    }
}
