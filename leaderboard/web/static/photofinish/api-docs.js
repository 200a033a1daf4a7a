// Draws the schema with Swagger UI, from files of this site only.
window.addEventListener("load", () => {
  window.SwaggerUIBundle({ url: "/api/schema", dom_id: "#swagger", deepLinking: true, validatorUrl: null, docExpansion: "list" });
});
