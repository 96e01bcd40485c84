class Mutex {
    void hold(Connection c) throws SQLException {
        c.prepareStatement("SELECT * FROM row_mutex WHERE name = ? FOR UPDATE").execute();
    }
}
