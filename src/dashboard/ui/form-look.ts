// Owns that the look of forms and tables is there once one of them is.
import css from '../styles/forms.css';
import { adopt } from './adopt.ts';

adopt(css);
