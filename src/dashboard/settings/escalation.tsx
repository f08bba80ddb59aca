// Owns what is done when no member accepts a conversation: a list of steps, changed as a whole.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { escalationLimits } from '../../protocol/codes.ts';
import { notificationWays } from '../../protocol/enums.ts';
import type { OrganizationDetail } from '../../protocol/entities.ts';
import { Button } from '../ui/button.tsx';
import { Checkbox, Field, Select } from '../ui/field.tsx';
import { toast } from '../ui/toast.tsx';
import { useFirstWrong } from './first-wrong.ts';
import { Await, useRest } from './parts.tsx';
import { fieldTexts, problemOf, rest } from './rest.ts';
import { useUnsavedGuard } from './unsaved.tsx';
import { figure, s } from './words.ts';

type Step = OrganizationDetail['escalation'][number];
type Way = Step['ways'][number];

const wayWords = { push: 'wayPush', email: 'wayEmail', bell: 'wayBell' } as const;
const usual: Step = { afterMinutes: 5, to: 'all', ways: ['push', 'email'] };

interface Members {
  readonly members: readonly { readonly id: string; readonly name: string }[];
}

export function Escalation({ first }: { readonly first: readonly Step[] }): JSX.Element {
  const members = useRest<Members>('/staff/members');
  const [saved, setSaved] = useState(first);
  const [steps, setSteps] = useState(first);
  const [problem, setProblem] = useState('');
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const [busy, setBusy] = useState(false);
  const ref = useFirstWrong<HTMLDivElement>(errors);
  const unsaved = JSON.stringify(steps) !== JSON.stringify(saved);
  useUnsavedGuard(unsaved);
  const set = (index: number, change: Partial<Step>): void =>
    setSteps(steps.map((one, at) => (at === index ? { ...one, ...change } : one)));
  const save = async (): Promise<void> => {
    setBusy(true);
    setProblem('');
    setErrors({});
    try {
      const { organization } = await rest<{ organization: OrganizationDetail }>(
        'PATCH',
        '/admin/organization',
        { escalation: steps },
      );
      setSaved(organization.escalation);
      setSteps(organization.escalation);
      toast(s('saved'), 'good');
    } catch (error) {
      const texts = fieldTexts(error);
      setErrors(texts);
      if (Object.keys(texts).length === 0) setProblem(problemOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Await of={members}>
      {(colleagues) => (
        <div class="form" ref={ref}>
          {steps.map((step, index) => (
            <OneStep
              key={index}
              number={index + 1}
              step={step}
              wrong={{
                minutes: errors[`escalation.${index}.afterMinutes`],
                ways: errors[`escalation.${index}.ways`],
              }}
              members={colleagues.members}
              onChange={(change) => set(index, change)}
              onRemove={() => setSteps(steps.filter((_, at) => at !== index))}
            />
          ))}
          {steps.length === 0 ? <p class="empty">{s('none')}</p> : null}
          <p class="problem" role="alert">
            {problem}
          </p>
          <div class="form-end">
            <Button
              icon="plus"
              disabled={steps.length >= escalationLimits.steps}
              onClick={() => setSteps([...steps, usual])}
            >
              {s('addStep')}
            </Button>
            <Button kind="main" busy={busy} disabled={!unsaved} onClick={() => void save()}>
              {s('save')}
            </Button>
            {unsaved ? <span class="hint">{s('unsaved')}</span> : null}
          </div>
        </div>
      )}
    </Await>
  );
}

interface OneStepProps {
  readonly number: number;
  readonly step: Step;
  /** What is wrong with it. */
  readonly wrong: { readonly minutes: string | undefined; readonly ways: string | undefined };
  readonly members: Members['members'];
  readonly onChange: (change: Partial<Step>) => void;
  readonly onRemove: () => void;
}

function OneStep({ number, step, wrong, members, onChange, onRemove }: OneStepProps): JSX.Element {
  const toggle = (way: Way, on: boolean): void =>
    onChange({ ways: notificationWays.filter((one) => (one === way ? on : step.ways.includes(one))) });
  return (
    <fieldset class="choices">
      <legend>{s('stepNumber', { n: figure(number) })}</legend>
      <Field
        label={s('stepAfter')}
        error={wrong.minutes}
        type="number"
        min={1}
        max={escalationLimits.minutes}
        value={String(step.afterMinutes)}
        onInput={(value) => onChange({ afterMinutes: Number(value) })}
      />
      <Select
        label={s('stepTo')}
        value={step.to}
        options={[
          { value: 'available', label: s('toAvailable') },
          { value: 'all', label: s('toAll') },
          ...members.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        onChange={(to) => onChange({ to })}
      />
      {notificationWays.map((way) => (
        <Checkbox
          key={way}
          label={s(wayWords[way])}
          checked={step.ways.includes(way)}
          onChange={(on) => toggle(way, on)}
        />
      ))}
      {wrong.ways === undefined ? null : (
        <p class="problem" role="alert">
          {wrong.ways}
        </p>
      )}
      <Button onClick={onRemove}>{s('remove')}</Button>
    </fieldset>
  );
}
