class Post {
    void post(Connection c, Lock lock) {
        lock.lock();
        try {
            c.createStatement().executeUpdate("UPDATE account SET balance = 1 WHERE id = 2");
            c.commit();
        } finally {
            lock.unlock();
        }
    }
}
