// Says when the page could not be brought up to date; htmx leaves it as it was.
(function () {
  "use strict";
  function stale(is) {
    var banner = document.getElementById("offline");
    if (banner) banner.hidden = !is;
  }
  document.addEventListener("htmx:responseError", function () { stale(true); });
  document.addEventListener("htmx:sendError", function () { stale(true); });
  document.addEventListener("htmx:afterRequest", function (event) {
    if (event.detail.successful) stale(false);
  });
})();
