public class Mutexes {
    private final ConcurrentMap<Object, ReentrantLock> locks = new ConcurrentHashMap<>();
    // locks = of threads
}
