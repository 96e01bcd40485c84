class Poster {
    void post(long id, BigDecimal balance) {
        String sql = "UPDATE m_savings_account SET account_balance_derived = ? WHERE id = ?";
        jdbc.update(sql, balance, id);
        em.createQuery("update SavingsAccount s set s.balance = :b where s.id = :id").executeUpdate();
    }
}
