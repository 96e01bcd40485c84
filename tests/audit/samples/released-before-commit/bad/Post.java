class Post {
    void post(Connection c, Lock lock) {
        lock.lock();
        c.createStatement().executeUpdate("UPDATE account SET balance = 1 WHERE id = 2");
        lock.unlock();
        c.commit();
    }
}
