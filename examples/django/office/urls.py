"""What can be asked."""
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from office import views

urlpatterns = [
    path("", views.policies),
    path("login", LoginView.as_view(template_name="login.html")),
    path("logout", LogoutView.as_view()),
    path("policies/<int:pk>/edit", views.edit),
    path("policies/<int:pk>/save", views.save),
    path("policies/<int:pk>/open", views.open_page),
    path("policies/<int:pk>/record", views.record),
    path("policies/<int:pk>/save-version", views.save_version),
    path("holdfast/session", views.session),
    path("holdfast/take-over", views.take_over),
    path("work/<str:session>/beat", views.beat, name="beat"),
    path("work/<str:session>/close", views.close, name="close"),
]
