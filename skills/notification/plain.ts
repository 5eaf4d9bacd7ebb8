/**
 * Removes control characters and characters that hide or reorder text. Breaks URLs that show a different host than the
 * one they open.
 */
export function plainText(text: string): string {
  const visible = text
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .replace(HIDDEN, "")
    .replace(/\p{Cs}|\p{Noncharacter_Code_Point}/gu, "\ufffd");
  return honestAddresses(visible).trim();
}

export function plainLine(text: string): string {
  return plainText(text).replace(/\s+/g, " ").trim();
}

export function replaceAddresses(text: string, replace: (address: string) => string): string {
  return text.replace(ADDRESS, replace);
}

const HIDDEN = /[\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** Pattern of URLs whose visible host is the one that opens: http or https, an ASCII host, no user name. */
export const ADDRESS_PATTERN = String.raw`https?:\/\/[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?(?:[/?#][^\s<>|"'\x60\\]*)?`;
const ADDRESS = new RegExp(ADDRESS_PATTERN, "gi");

/** Punctuation that may follow a URL. */
const ENDING = /[)\]}>"'*_~.,;:!?]*(?=\s|$)/y;

/** Ends links at the host where they would mislead: `https://bank.example@evil.example` opens evil.example. */
function honestAddresses(text: string): string {
  // First, because the space may end an address, and another one may begin behind it.
  const spaced = text.replace(/:\/\/(?![A-Za-z0-9])/g, ":// ");
  return spaced.replace(ADDRESS, (address, at: number) => {
    ENDING.lastIndex = at + address.length;
    return ENDING.test(spaced) ? address : `${address} `;
  });
}
