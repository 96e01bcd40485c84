class Save {
    Note open(long id, String session) {
        lockService.acquire("note", id, session);
        return notes.findById(id).orElseThrow();
    }

    void save(NoteRequest request, long id, String session) {
        lockService.acquire("note", id, session);
        jdbc.update("UPDATE note SET body = ? WHERE id = ?", request.body(), id);
    }
}
