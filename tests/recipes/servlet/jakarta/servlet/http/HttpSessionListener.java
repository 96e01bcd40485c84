// As much of the servlet API as the listener needs.
package jakarta.servlet.http;

public interface HttpSessionListener {
    default void sessionCreated(HttpSessionEvent event) {
    }

    default void sessionDestroyed(HttpSessionEvent event) {
    }
}
