import fc from "fast-check";
import { expect, it } from "vitest";
import { imageFault, type ShownImage, shownIds } from "../../../src/core/base/image.ts";
import { PICTURES, pictureBytes, vastPicture } from "../../harness/pictures.ts";

/** Which bytes are images that models may be shown. */

const KINDS = Object.keys(PICTURES) as (keyof typeof PICTURES)[];

it.each(KINDS)("an image of the type %s may be shown, as that type alone", (kind) => {
  for (const said of KINDS) {
    expect(imageFault(pictureBytes(kind), said)).toBe(said === kind ? undefined : `its bytes are not ${said}`);
  }
});

it.each([
  [
    "a drawing that may hold scripts",
    Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'/>"),
    "image/svg+xml",
    /only/,
  ],
  ["a page that is called an image", Buffer.from("<html>"), "image/png", /not image\/png/],
  ["nothing", Buffer.alloc(0), "image/webp", /not image\/webp/],
  ["the mere beginning of one", pictureBytes("image/png").subarray(0, 20), "image/png", /not image\/png/],
  ["one that unfolds to 10 Gpixel", vastPicture(100_000), "image/png", /larger than 8000 pixels: 100000x100000/],
  ["one without a pixel", vastPicture(0), "image/png", /not image\/png/],
  ["one of many bytes", Buffer.concat([pictureBytes("image/png"), Buffer.alloc(4_000_000)]), "image/png", /3.6 MB/],
])("%s is shown to no model", (_what, bytes, kind, fault) => {
  expect(imageFault(bytes, kind)).toMatch(fault);
});

it("any bytes are either accepted or rejected with a reason", () => {
  const headed = fc
    .tuple(fc.constantFrom(...KINDS), fc.nat(40), fc.uint8Array({ maxLength: 200 }))
    .map(([kind, length, rest]) => Buffer.concat([pictureBytes(kind).subarray(0, length), rest]));
  fc.assert(
    fc.property(fc.constantFrom(...KINDS), headed, (kind, bytes) => {
      const fault = imageFault(bytes, kind);
      return fault === undefined || fault.length > 0;
    }),
  );
});

it("if there are more than fit into a request, the newest are shown, each once", () => {
  const image = (nr: number, size_bytes: number): ShownImage => ({ blob_id: `b${nr}`, kind: "image/png", size_bytes });
  const many = Array.from({ length: 30 }, (_, nr) => image(nr, 10));
  expect([...shownIds(many)]).toEqual(Array.from({ length: 20 }, (_, nr) => `b${29 - nr}`));
  expect([...shownIds([image(1, 3_000_000), image(2, 8_000_000), image(3, 3_600_000)])]).toEqual(["b3", "b2"]);
  expect([...shownIds([image(1, 10), image(1, 10), image(2, 10), image(2, 10)])]).toEqual(["b2", "b1"]);
});
