/**
 * What is removed from a model's text before any channel sees it: control characters, characters that hide or reorder
 * text, and addresses that show another host than the one they open.
 */
export function plainText(text: string): string {
  const visible = text
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .replace(HIDDEN, "")
    .replace(/\p{Cs}|\p{Noncharacter_Code_Point}/gu, "\ufffd");
  return honestAddresses(visible).trim();
}

/** As `plainText`, on one line. */
export function plainLine(text: string): string {
  return plainText(text).replace(/\s+/g, " ").trim();
}

/** The text with each address in it replaced. */
export function replaceAddresses(text: string, replace: (address: string) => string): string {
  return text.replace(ADDRESS, replace);
}

const HIDDEN = /[\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** http or https, an ASCII host and no user name: the host that is read is the host that opens. */
export const ADDRESS_PATTERN = String.raw`https?:\/\/[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?(?:[/?#][^\s<>|"'\x60\\]*)?`;
const ADDRESS = new RegExp(ADDRESS_PATTERN, "gi");

/** What may follow an address: its sentence's or its emphasis' end. */
const ENDING = /[)\]}>"'*_~.,;:!?]*(?=\s|$)/y;

/** `https://bank.example@evil.example` opens evil.example: a renderer's link is made to end where the host does. */
function honestAddresses(text: string): string {
  const spaced = text.replace(ADDRESS, (address, at: number) => {
    ENDING.lastIndex = at + address.length;
    return ENDING.test(text) ? address : `${address} `;
  });
  return spaced.replace(/:\/\/(?![A-Za-z0-9])/g, ":// ");
}
