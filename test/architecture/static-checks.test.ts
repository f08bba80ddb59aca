// Owns: that `npm test` holds types, lint and format, too. As a test file they run beside the other files, on whatever
// those leave of the machine.
import { expect, test } from 'vitest';
import { cleanEnvironment, repository, Running } from '../helpers/command.ts';

test.each([['typecheck'], ['lint']])('npm run %s finds nothing', async (script) => {
  const options = { cwd: repository, env: cleanEnvironment() };
  const { code, stdout, stderr } = await new Running('npm', ['run', '--silent', script], options).ended;
  expect(code, stdout + stderr).toBe(0);
});
