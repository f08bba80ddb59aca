// Owns the drawings: each one path in a square of 24, drawn with a stroke.
export const launcherIcons = {
  chat: 'M12 3.5c-5 0-9 3.3-9 7.6 0 2.3 1.2 4.4 3.1 5.8V21l4-2.5c.6.1 1.2.2 1.9.2 5 0 9-3.3 9-7.6s-4-7.6-9-7.6zM8 11h.01M12 11h.01M16 11h.01',
  question:
    'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9.3 9.4c.2-1.4 1.3-2.2 2.7-2.2 1.5 0 2.7.9 2.7 2.3 0 2-2.7 2.1-2.7 4M12 16.8h.01',
  message: 'M4 5h16a1 1 0 0 1 1 1v12a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1zM3.5 6.5 12 13l8.5-6.5',
} as const;
