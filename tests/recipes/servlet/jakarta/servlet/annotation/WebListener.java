// As much of the servlet API as the listener needs, so that it can be compiled and run without a container.
package jakarta.servlet.annotation;

public @interface WebListener {
}
