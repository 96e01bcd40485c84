class Save {
    void save(long id, String body) {
        Integer now = jdbc.queryForObject("SELECT version FROM page WHERE id = ?", Integer.class, id);
        int rows = jdbc.update("UPDATE page SET body = ?, version = version + 1 WHERE id = ? AND version = ?", body, id, now);
        if (rows != 1) {
            throw new Conflict();
        }
    }
}
