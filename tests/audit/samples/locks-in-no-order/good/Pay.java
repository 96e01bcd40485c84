class Pay {
    void pay(List<Long> ids) {
        for (Long id : new TreeSet<>(ids)) {
            lockService.acquire("account", id);
        }
    }

    void each(List<Long> ids) {
        for (Long id : ids) {
            lockService.acquire("account", id);
            post(id);
            lockService.release("account", id);
        }
    }

    void tried(List<Long> ids) {
        for (Long id : ids) {
            if (!locks.tryLock("account", id)) {
                return;
            }
        }
    }

    void resource(List<Long> ids) {
        for (Long id : ids) {
            try (Held held = locks.acquire("account", id)) {
                post(id);
            }
        }
    }

    void template(List<Long> ids) {
        for (Long id : ids) {
            transactionTemplate.execute(status -> jdbc.queryForObject("SELECT balance FROM account WHERE id = ? FOR UPDATE", Long.class, id));
        }
    }
}
