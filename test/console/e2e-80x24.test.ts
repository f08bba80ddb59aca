// Owns: the journeys of ./e2e.ts on a usual terminal.
// Must not hold a journey of its own.
import { declareE2eTests } from './e2e.ts';

declareE2eTests({ columns: 80, rows: 24 });
