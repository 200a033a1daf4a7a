"""The page of tokens makes agents, and tokens for them with limits of their own."""

from leaderboard.accounts.models import ApiToken


def test_an_owner_makes_an_agent_and_its_token_on_the_page(stage, browser) -> None:
    client = browser(stage.ada)
    answer = client.post("/agents", {"agent_name": "robo"})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/tokens")
    page = client.get("/tokens").content.decode()
    assert '<option value="robo">robo</option>' in page
    sent = {"name": "night", "scopes": ["read", "submit"], "days": "90", "agent": "robo", "device_s_per_day": "600"}
    assert client.post("/tokens", sent | {"per_hour": "30"}).status_code == 302
    token = ApiToken.objects.get(name="night")
    assert (token.owner.username, token.device_s_per_day, token.per_hour) == ("robo", 600, 30)
    page = client.get("/tokens").content.decode()
    assert "600 device s a day, 30 an hour" in page
    assert client.post("/agents", {"agent_name": "ro bo"}).status_code == 400
    assert client.post("/tokens", sent | {"agent": "ben"}).status_code == 200, "a choice that is none"
    assert browser(stage.ben).post(f"/tokens/{token.pk}/revoke").status_code == 404
    client.post(f"/tokens/{token.pk}/revoke")
    token.refresh_from_db()
    assert token.revoked_at is not None


def test_the_desk_shows_owner_and_agents(stage, browser) -> None:
    browser(stage.ada).post("/agents", {"agent_name": "robo"})
    agent, desk = stage.ada.agents.get(), browser(stage.olga)
    ada, robo = f'<a href="/desk/people/{stage.ada.pk}">ada</a>', f'<a href="/desk/people/{agent.pk}">robo</a>'
    assert f"<dt>Agent of</dt><dd>{ada}</dd>" in desk.get(f"/desk/people/{agent.pk}").content.decode()
    assert f"<dt>Agent</dt><dd>{robo}</dd>" in desk.get(f"/desk/people/{stage.ada.pk}").content.decode()
