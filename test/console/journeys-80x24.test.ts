// Owns: the journeys of ./journeys.ts on a usual terminal.
// Must not hold a journey of its own.
import { journeysAt } from './journeys.ts';

journeysAt({ columns: 80, rows: 24 });
