// Owns the drawing of a QR code.
import { encode } from 'uqr';

const svgSpace = 'http://www.w3.org/2000/svg';

/** A text as a QR code, dark on light in every colour scheme, so that cameras read it. */
export function drawQr(text: string, label: string): SVGElement {
  const { data, size } = encode(text, { border: 2 });
  const svg = document.createElementNS(svgSpace, 'svg');
  svg.setAttribute('viewBox', `0 0 ${size} ${size}`);
  svg.setAttribute('class', 'qr');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', label);
  const path = document.createElementNS(svgSpace, 'path');
  path.setAttribute(
    'd',
    data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ''))).join(''),
  );
  svg.append(path);
  return svg;
}
