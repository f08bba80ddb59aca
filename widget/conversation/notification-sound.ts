// Owns the one sound: two soft tones, synthesised, so that nothing is fetched. Silent until the visitor has
// touched the page, as browsers demand.

/** Plays the sound of an arriving message, where the page may make a sound at all. */
export function playNotificationSound(): void {
  if (!navigator.userActivation.hasBeenActive) return;
  const audio = new AudioContext();
  const start = audio.currentTime;
  [660, 880].forEach((frequency, index) => {
    const from = start + index * 0.11;
    const tone = audio.createOscillator();
    const volume = audio.createGain();
    tone.frequency.value = frequency;
    volume.gain.setValueAtTime(0.0001, from);
    volume.gain.exponentialRampToValueAtTime(0.08, from + 0.02);
    volume.gain.exponentialRampToValueAtTime(0.0001, from + 0.25);
    tone.connect(volume).connect(audio.destination);
    tone.start(from);
    tone.stop(from + 0.27);
    if (index === 1)
      tone.onended = () => {
        void audio.close();
      };
  });
}
