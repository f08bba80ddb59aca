// The page of `deskbell demo`: a plain form over the real REST and WebSocket doors,
// so that the whole road can be tried in a browser. Served only by the demo.

/** @param appId the demo's application */
export function demoPage(appId: string): { readonly html: string; readonly script: string } {
  return { html, script: `const appId = ${JSON.stringify(appId)};\n${script}` };
}

const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Deskbell demo</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 2rem auto; padding: 0 1rem; }
  ol { list-style: none; padding: 0; min-height: 12rem; }
  li { margin: .5rem 0; padding: .5rem .75rem; border-radius: .5rem; background: #eef; width: fit-content; max-width: 85%; overflow-wrap: anywhere; }
  li.mine { margin-left: auto; background: #dfd; }
  form { display: flex; gap: .5rem; }
  input { flex: 1; font: inherit; padding: .5rem; }
  button { font: inherit; padding: .5rem 1rem; }
  #state { color: #555; min-height: 1.5em; }
</style>
<h1>Write to us</h1>
<p>You are the visitor. Answer as the operator from the terminal.</p>
<ol id="messages" aria-live="polite"></ol>
<p id="state" role="status"></p>
<form id="form"><input id="text" aria-label="Your message" autocomplete="off" maxlength="5000" required autofocus><button>Send</button></form>
<script type="module" src="/demo.js"></script>
</html>
`;

const script = `
const list = document.getElementById('messages');
const state = document.getElementById('state');
const form = document.getElementById('form');
const text = document.getElementById('text');
const visitorId = sessionStorage.getItem('visitor') ?? crypto.randomUUID();
sessionStorage.setItem('visitor', visitorId);
let conversationId = sessionStorage.getItem('conversation');
let lastMessageId;
let socket;
let typing = false;

async function call(method, path, body) {
  const response = await fetch('/api/v1' + path, {
    method,
    headers: { 'X-App-Id': appId, 'X-Visitor-Id': visitorId, ...(body ? { 'Content-Type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer;
}

function show(message) {
  if (document.getElementById(message.id)) return;
  const line = document.createElement('li');
  line.id = message.id;
  line.className = message.senderId === visitorId ? 'mine' : '';
  line.textContent = message.contentFormat === 'lexical' ? new DOMParser().parseFromString(message.contentHtml, 'text/html').body.textContent : message.content;
  list.append(line);
  lastMessageId = message.id;
}

async function connect(delay) {
  try {
    const { token } = await call('POST', '/widget/ws-token');
    socket = new WebSocket(location.origin.replace('http', 'ws') + '/api/v1/ws?token=' + encodeURIComponent(token));
  } catch {
    setTimeout(connect, delay, Math.min(delay * 2, 30000));
    return;
  }
  let next = delay;
  socket.onopen = () => {
    next = 1000;
    if (conversationId) join();
  };
  socket.onclose = () => setTimeout(connect, next, Math.min(next * 2, 30000));
  socket.onmessage = ({ data }) => {
    const { type, payload } = JSON.parse(data);
    if (type === 'message:new') show(payload);
    if (type === 'messages:sync') payload.messages.forEach(show);
    if (type === 'message:deleted') document.getElementById(payload.messageId)?.remove();
    if (type === 'typing:start') state.textContent = payload.userName + ' is typing …';
    if (type === 'typing:stop' || type === 'message:new') state.textContent = '';
    if (type === 'conversation:accepted') state.textContent = payload.assignedToName + ' is here.';
    if (type === 'conversation:resolved') {
      state.textContent = 'The conversation is closed. Your next message begins a new one.';
      conversationId = null;
      sessionStorage.removeItem('conversation');
    }
  };
}

function join() {
  socket.send(JSON.stringify({ type: 'room:join', payload: { conversationId, echo: true, ...(lastMessageId ? { lastMessageId } : {}) } }));
}

text.addEventListener('input', () => {
  if (typing || !conversationId || socket?.readyState !== WebSocket.OPEN) return;
  typing = true;
  socket.send(JSON.stringify({ type: 'typing:start', payload: { conversationId } }));
  setTimeout(() => (typing = false), 5000);
});

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const content = text.value;
  text.value = '';
  try {
    if (!conversationId) {
      conversationId = (await call('POST', '/conversations', {})).conversation.id;
      sessionStorage.setItem('conversation', conversationId);
      if (socket?.readyState === WebSocket.OPEN) join();
    }
    show((await call('POST', '/conversations/' + conversationId + '/messages', { content, clientMessageId: crypto.randomUUID() })).message);
  } catch (error) {
    text.value = content;
    state.textContent = error.message;
  }
});

if (conversationId) {
  const { messages } = await call('GET', '/conversations/' + conversationId + '/messages?limit=100&order=desc').catch(() => ({ messages: [] }));
  messages.reverse().forEach(show);
}
connect(1000);
`;
