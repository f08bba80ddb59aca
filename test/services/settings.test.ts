// Changes of settings by path, as `deskbell app config --set` takes them.
import { describe, expect, it } from 'vitest';
import {
  changedSettings,
  defaultSettings,
  patchFromPaths,
  patchSettings,
} from '../../src/services/tenants/settings.ts';

const weekdays = { week: { monday: [{ open: '09:00', close: '17:30' }] } };

describe('patchFromPaths', () => {
  it.each([
    ['nothing', 1],
    ['', 1],
    ['__proto__.admin', true],
    ['constructor.prototype', {}],
    ['appearance.__proto__', {}],
    ['name', 'x'],
    ['applicationId', 'x'],
    ['locale.de', 1],
    ['appearance.colors.accent', '#ffffff'],
    ['appearance.logo', 'javascript:alert(1)'],
    ['behavior.timezone', 'Mars/Olympus'],
    ['behavior.businessHours', 5],
    ['ai', 'auto'],
    ['locale', '<script>'],
  ])('refuses %s=%j', (path, value) => {
    expect(() =>
      patchFromPaths(defaultSettings, [
        { path: 'locale', value: 'de' },
        { path, value },
      ]),
    ).toThrow(expect.objectContaining({ code: 'bad_request' }));
  });

  it('names the path of the fault', () => {
    for (const [path, value, where] of [
      ['appearance.colors.primary', 'red', 'appearance.colors.primary'],
      ['behavior.businessHours', { week: { funday: [] } }, 'behavior.businessHours.week.funday'],
      ['appearance.shadow', 1, 'appearance.shadow'],
    ] as const)
      expect(() => patchFromPaths(defaultSettings, [{ path, value }])).toThrow(
        expect.objectContaining({ context: { details: [{ path: where, message: expect.any(String) }] } }),
      );
  });

  it('holds what was named and nothing else', () => {
    expect(
      patchFromPaths(defaultSettings, [
        { path: 'locale', value: 'de' },
        { path: 'behavior.greeting', value: 'Hi' },
        { path: 'behavior.contactForm', value: 'required' },
        { path: 'appearance.colors.primary', value: '#FF0000' },
      ]),
    ).toEqual({
      locale: 'de',
      behavior: { greeting: 'Hi', contactForm: 'required' },
      appearance: { colors: { ...defaultSettings.appearance.colors, primary: '#ff0000' } },
    });
  });

  it('leaves the other parts of business hours when a path leads into them', () => {
    const exceptions = [{ date: '2026-12-24', hours: [] }];
    const open = patchSettings(defaultSettings, { behavior: { businessHours: { ...weekdays, exceptions } } });
    const patch = patchFromPaths(open, [{ path: 'behavior.businessHours.week', value: {} }]);
    expect(patch).toEqual({ behavior: { businessHours: { week: {}, exceptions } } });
  });
});

describe('patchSettings', () => {
  it('keeps what the patch leaves out, and what was set besides the defaults', () => {
    const before = patchSettings(defaultSettings, { behavior: { contactForm: 'required', greeting: 'Hi' } });
    const after = patchSettings(before, {
      behavior: { greeting: null },
      appearance: { colors: { text: '#000000' } },
    });
    expect(after).toEqual({
      ...defaultSettings,
      appearance: {
        ...defaultSettings.appearance,
        colors: { ...defaultSettings.appearance.colors, text: '#000000' },
      },
      behavior: { ...defaultSettings.behavior, contactForm: 'required' },
    });
    expect(changedSettings(before, after)).toEqual(['appearance.colors.text', 'behavior.greeting']);
    expect(changedSettings(after, after)).toEqual([]);
  });

  it('takes business hours whole', () => {
    const open = patchSettings(defaultSettings, { behavior: { businessHours: weekdays } });
    expect(open.behavior.businessHours).toEqual(weekdays);
    expect(changedSettings(defaultSettings, open)).toEqual(['behavior.businessHours']);
    expect(patchSettings(open, { behavior: { businessHours: null } }).behavior.businessHours).toBeNull();
  });
});
