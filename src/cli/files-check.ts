// What `deskbell doctor` finds out about files: whether their store and the scanner answer, and what waits for them.
import type { Config } from '../config.ts';
import { openFiles } from '../open-service.ts';
import type { FilesOverview } from '../services/files/file-store.ts';
import { counted, formatBytes } from '../text/text.ts';
import type { Finding } from './finding.ts';

/** @param report what the database says of files; null where it can't be asked */
export async function checkFiles(config: Config, report: FilesOverview | null): Promise<Finding[]> {
  const { store, scanner } = await openFiles(config);
  const about = 'files';
  const stored = report === null ? '' : `: ${report.files}, ${formatBytes(report.bytes)}`;
  const findings: Finding[] = [];
  const problem = await problemOf(store.check());
  findings.push(
    problem === null
      ? { about, state: 'ok', found: `${store.kind} ${store.place}${stored}`, fix: null }
      : {
          about,
          state: 'wrong',
          found: `the ${store.kind} ${store.place} can't be used: ${problem}`,
          fix:
            store.kind === 's3'
              ? 'Look at DESKBELL_FILES and at the rights of AWS_ACCESS_KEY_ID: list, get, put, delete'
              : `Let the user of the server write to ${store.place}`,
        },
  );
  if (report !== null && report.failing > 0)
    findings.push({
      about,
      state: 'wrong',
      found: `${counted(report.failing, 'file was', 'files were')} removed, and not yet from the store: that is tried again`,
      fix: 'Make the store answer; the log of the server says what it refuses',
    });
  if (scanner !== null) findings.push(scannerFinding(scanner.place, await problemOf(scanner.check())));
  if (report !== null && report.scanning > 0)
    findings.push({
      about: 'scanner',
      state: scanner === null ? 'note' : 'wrong',
      found: `${counted(report.scanning, 'file waits', 'files wait')} to be scanned, and can't be sent until then`,
      fix: scanner === null ? null : 'Make the scanner answer: it is tried again by itself',
    });
  return findings;
}

function scannerFinding(place: string, problem: string | null): Finding {
  return problem === null
    ? { about: 'scanner', state: 'ok', found: `clamd at ${place} answers`, fix: null }
    : {
        about: 'scanner',
        state: 'wrong',
        found: `clamd at ${place} does not answer: ${problem}`,
        fix: 'Start clamd, or correct DESKBELL_CLAMD: until then no file can be sent',
      };
}

async function problemOf(check: Promise<void>): Promise<string | null> {
  try {
    await check;
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
