"""The pages. A view says what it wants; refusals become pages in work.py."""
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from office import client
from office.fence import claim, fenced
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
