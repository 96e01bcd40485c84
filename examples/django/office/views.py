"""The pages. A view says what it wants; refusals become pages in work.py."""
import json

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from office import client
from office.fence import claim, fenced, lost
from office.models import Policy
from office.work import close as close_work


@require_GET
def policies(request):
    return render(request, "policies.html", {"policies": Policy.objects.order_by("pk")})


def editing(request, policy, work, note="", status=200):
    context = {"policy": policy, "work": work, "idle": settings.HOLDFAST_IDLE_SECONDS, "note": note}
    return render(request, "edit.html", context, status=status)


@login_required
@require_GET
def edit(request, pk):
    get_object_or_404(Policy, pk=pk)
    work = request.holdfast.take("policy", str(pk), purpose="editing")
    claim(work, Policy.objects)
    # Read only now: before, someone else could still save.
    return editing(request, Policy.objects.get(pk=pk), work)


@login_required
@require_POST
def save(request, pk):
    work = request.holdfast.find(request.POST.get("work"), type="policy", record=str(pk))
    policy = get_object_or_404(Policy, pk=pk)
    policy.text = request.POST.get("text", "").strip()
    if not policy.text:
        return editing(request, policy, work, "Please say what it covers.", 422)
    with fenced(work, Policy.objects):
        policy.save(update_fields=["text"])
    close_work(work)
    return redirect("/")


# ---- the same with <edit-lock>: its page, the three routes that it asks, and the save ----

@login_required
@require_GET
def open_page(request, pk):
    return render(request, "open.html", {"policy": get_object_or_404(Policy, pk=pk), "holdfast": settings.HOLDFAST_URL})


@login_required
@require_POST
def session(request):
    type, record = json.loads(request.body)["resource"].split("/", 1)
    work = request.holdfast.open(type, record)  # kept for the save: the form has the public id only
    return JsonResponse({"session": work.login, "user": request.user.get_username(), "name": request.user.get_full_name(),
                         "idle_seconds": settings.HOLDFAST_IDLE_SECONDS, "may_take_over": request.user.is_staff})


@login_required
@require_GET
@never_cache
def record(request, pk):
    policy = get_object_or_404(Policy, pk=pk)
    return JsonResponse({"version": policy.version, "fields": {"text": policy.text}})


@login_required
@require_POST
def take_over(request):
    if not request.user.is_staff:
        return JsonResponse({"message": "Only staff may take a record over."}, status=403)
    asked = json.loads(request.body)
    type, record = asked["resource"].split("/", 1)
    return answered(lambda: client.force_release(type, record, asked["reason"], asked.get("fence"), request.user.get_full_name()))


@login_required
@require_POST
def save_version(request, pk):
    work = request.holdfast.find(request.POST.get("holdfast_session"), type="policy", record=str(pk))
    version = int(request.POST["holdfast_version"])
    saved = client.save(work, request.POST["holdfast_fence"], version)
    # The record goes only from the version that was read to the one that was counted.
    if not Policy.objects.filter(pk=pk, version=version).update(text=request.POST["text"], version=saved["version"], fence=saved["fence"]):
        raise lost(work)
    return redirect("/")


def answered(call):
    """For the script of a page, refusals are JSON."""
    try:
        return JsonResponse(call() or {})
    except client.Lost as problem:
        return JsonResponse({"message": problem.sentence}, status=410)
    except client.Refused as problem:
        return JsonResponse({"message": problem.sentence}, status=problem.status)


@require_POST
def beat(request, session):
    return answered(lambda: request.holdfast.beat(session))


@require_POST
def close(request, session):
    return answered(lambda: close_work(request.holdfast.find(session)))
