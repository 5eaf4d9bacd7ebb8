/**
 * Replaces Node's classes in the SDKs of models, because the first use of those loads all of undici. The requests of
 * models have few headers, which node:http checks, and no forms.
 */
export class Headers extends Map {
  constructor(init = {}) {
    super();
    for (const [name, value] of Symbol.iterator in init ? init : Object.entries(init)) this.append(name, value);
  }

  get(name) {
    return super.get(name.toLowerCase()) ?? null;
  }

  has(name) {
    return super.has(name.toLowerCase());
  }

  set(name, value) {
    return super.set(name.toLowerCase(), `${value}`.trim());
  }

  append(name, value) {
    this.set(name, this.has(name) ? `${this.get(name)}, ${value}` : value);
  }

  delete(name) {
    return super.delete(name.toLowerCase());
  }
}

export class FormData {}
