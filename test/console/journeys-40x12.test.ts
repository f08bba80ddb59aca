// Owns: the journeys of ./journeys.ts on a narrowest terminal.
// Must not hold a journey of its own.
import { journeysAt } from './journeys.ts';

journeysAt({ columns: 40, rows: 12 });
