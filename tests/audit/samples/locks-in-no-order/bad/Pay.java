class Pay {
    void pay(List<Long> ids) {
        for (Long id : ids) {
            lockService.acquire("account", id);
        }
    }
}
