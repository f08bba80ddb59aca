// The icon, as SVG and as the ICO that browsers ask every server for. The ICO holds the same drawing in 16 and 32 pixels.

export const iconSvg =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="14" fill="#2563eb"/><path fill="#fff" d="M12 43a20 20 0 0 1 40 0zM8 46h48v6H8zM29 18h6v6h-6z"/><circle cx="32" cy="16" r="5" fill="#fff"/></svg>';

export const iconIco = Buffer.from(
  [
    'AAABAAIAEBAAAAEAIADXAAAAJgAAACAgAAABACAAegEAAP0AAACJUE5HDQoaCgAAAA1JSERSAAAAEAAAABAIBgAAAB/z/2EAAACe',
    'SURBVHjaY2AAAtXk1zFAfB2I/xOJQWpjGJA0/ycTxzDgs9mh7B0Y43MJAz7Nf/7+B2N8htDOAP2sN//P3/0NxiA20QaAFM/Z8e3/',
    'j1///sMAiA0Sw2YQigEaqa//n7n16z8uAJIDqcFpQMvyL/8JAZAanAbcevKHoAEgNTgNOHHjF1EYqwGTNn4lCWMYQCpANuA6BXnh',
    'OuWZidLsDACuTMMFg2/vAQAAAABJRU5ErkJggolQTkcNChoKAAAADUlIRFIAAAAgAAAAIAgGAAAAc3p69AAAAUFJREFUeNrVl09K',
    'xDAUxnOMXmDAE3gFYXbuuxPXHkBw40D3gmeY9aDgGQR3BbeKu6FMVWqhEO0zX62l1LY0r6+m88EHIX9efm2SNk+pmhYnkWccGIfG',
    '2piErMuYiO2pNpkG3zgRnLTLmMNvm5z+2X79tScOAJJiOcp1IUcOVLk5rAcfnu1otf4ojDITIFSc3Y4Jo7cv+hXKTAitOOR46qZQ',
    'x4m1nwCCS8ADgK82aQWAMjcOC2B5EdPdQ1YBoIy6SQEOTn/W/nn7SV1CG/qgryjA0XlMjy+ahgp9MUYE4Pjyld7TnGyFMRg7CqC5',
    '22015HT0AtzeZzRWiMECwK6WUt8J6QS4vknFABDLGiB80mIAiGUNkGa5GABiWQPg8ypp8X+BlP8ATK1ZAmiHAJp9KRVyOItrudvE',
    'xHlqNovk1GV6/g09BwBwzbDDZQAAAABJRU5ErkJggg==',
  ].join(''),
  'base64',
);
