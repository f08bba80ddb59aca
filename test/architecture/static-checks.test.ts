// Owns: that `npm test` holds types, lint and format, too. As a test file they run beside the other files, on whatever
// those leave of the machine.
import { expect, test } from 'vitest';
import { cleanEnvironment, repository, Running } from '../helpers/command.ts';

/** Of both checkers, which are Go programs: threads and collecting garbage early only cost, beside the other files. */
const frugal = { GOMAXPROCS: '1', GOGC: '400' };

test.each([['typecheck'], ['lint']])('npm run %s finds nothing', async (script) => {
  const options = { cwd: repository, env: cleanEnvironment(frugal) };
  const { code, stdout, stderr } = await new Running('npm', ['run', '--silent', script], options).ended;
  expect(code, stdout + stderr).toBe(0);
});
