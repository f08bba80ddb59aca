// Owns that the look of files is there once one of them is.
import css from '../styles/files.css';
import { adopt } from '../ui/adopt.ts';

adopt(css);
