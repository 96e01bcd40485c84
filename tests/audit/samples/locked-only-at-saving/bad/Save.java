class Save {
    void save(NoteRequest request, long id) {
        lockService.acquire("note", id);
        jdbc.update("UPDATE note SET body = ? WHERE id = ?", request.body(), id);
        lockService.release("note", id);
    }
}
