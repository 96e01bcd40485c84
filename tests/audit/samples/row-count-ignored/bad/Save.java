class Save {
    void save(Connection c) throws SQLException {
        PreparedStatement ps = c.prepareStatement("UPDATE account SET balance = ?, version = version + 1 WHERE id = ? AND version = ?");
        ps.executeUpdate();
    }
}
