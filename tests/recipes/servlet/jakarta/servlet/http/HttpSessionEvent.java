// As much of the servlet API as the listener needs.
package jakarta.servlet.http;

public record HttpSessionEvent(HttpSession session) {
    public HttpSession getSession() {
        return session;
    }
}
