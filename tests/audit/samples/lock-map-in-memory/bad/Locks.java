public class Locks {
    private static final Map<Long, String> recordLocks = new ConcurrentHashMap<>();
    // @version
}
