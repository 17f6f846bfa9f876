// A fork of ioredis. Declared here, so that nobody has to have it installed to compile this package.
declare module 'iovalkey' {
  export const Redis: new (target: string | object) => object
}
