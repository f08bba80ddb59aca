// The page behind an invitation link, on which the invited member chooses a password. The token is in the fragment of
// the address, which browsers do not send.

export const invitationPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Your invitation</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/invitation.css">
<main>
  <h1>Welcome</h1>
  <p>Choose the password with which you will sign in.</p>
  <form id="form">
    <label for="password">Password, at least 8 characters</label>
    <input id="password" type="password" autocomplete="new-password" minlength="8" maxlength="1024" required autofocus>
    <button>Set password</button>
  </form>
  <p id="state" role="status"></p>
</main>
<script type="module" src="/invitation.js"></script>
</html>
`;

export const invitationStyle = `body { font: 16px/1.5 system-ui, sans-serif; color-scheme: light dark; }
main { max-width: 24rem; margin: 4rem auto; padding: 0 1rem; }
form { display: grid; gap: .5rem; }
input, button { font: inherit; padding: .5rem; }
`;

export const invitationScript = `const form = document.getElementById('form');
const state = document.getElementById('state');
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const response = await fetch('/api/v1/staff/invitation', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token: location.hash.slice(1), password: document.getElementById('password').value }),
  });
  const answer = await response.json();
  if (!response.ok) {
    state.textContent = answer.message;
    return;
  }
  form.remove();
  state.textContent = 'Done. Sign in as ' + answer.member.email + ' of ' + answer.organization.slug + '.';
});
`;
