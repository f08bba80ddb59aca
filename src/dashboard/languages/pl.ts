export { words, desk } from './en.ts';
