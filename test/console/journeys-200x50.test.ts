// Owns: the journeys of ./journeys.ts on a wide terminal.
// Must not hold a journey of its own.
import { journeysAt } from './journeys.ts';

journeysAt({ columns: 200, rows: 50 });
