"""The page that asks before a change."""

from django.template.loader import render_to_string

from apps.web.confirmation import Confirmation, Paragraph


def shown(confirmation: Confirmation) -> str:
    return " ".join(render_to_string("web/confirm.html", {"confirmation": confirmation}).split())


def test_page_asks_with_one_button_and_leads_back() -> None:
    page = shown(
        Confirmation(
            title="Delete a thing",
            heading="Delete <b>?",
            body=(Paragraph("It is gone then."), Paragraph("Its <i> too.", "meta")),
            button="Delete",
            is_danger=True,
            action="?environment=staging",
            fields={"sure": '"yes"'},
            errors=("Not now.",),
            back_url="/app/things",
        )
    )

    assert "<title> Delete a thing" in page
    assert "<h1>Delete &lt;b&gt;?</h1>" in page
    assert '<p class="meta">Its &lt;i&gt; too.</p>' in page
    assert '<form method="post" action="?environment=staging" class="actions">' in page
    assert '<input type="hidden" name="sure" value="&quot;yes&quot;">' in page
    assert '<p class="error" role="alert">Not now.</p>' in page
    assert '<button class="danger">Delete</button> <a class="button" href="/app/things">Cancel</a>' in page


def test_page_without_a_button_only_leads_back() -> None:
    page = shown(Confirmation(title="Access", heading="Access", back_url="/app/things", back_label="Choose"))

    assert '<p class="actions"> <a class="button" href="/app/things">Choose</a> </p>' in page
    assert page.count("<form") == 1  # of the colours
